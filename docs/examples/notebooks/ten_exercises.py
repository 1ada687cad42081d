"""
Ten exercises in queueing
=========================

Ten exercises as they stand in any textbook, each solved by one call and held against its closed form.
"""

# %%
# Lines in front of servers
# -------------------------
# 1. One server, .8 jobs per second of a second each: four jobs there on average wait or are served.
# 2. Three servers, two jobs per second: Erlang's C formula gives 4/9.
# 3. Ten lines offered ten Erlangs lose 21.46 % of the calls (Erlang's B formula).
# 4. Constant service waits half as long as exponential service.
# 5. One server and three places at a load of one: each number of jobs is as likely, so a quarter is lost.

from math import isclose, sqrt

import matplotlib.pyplot as plt
import numpy as np

from phasefit import PhaseType
from qmodels.networks import CustomerClass, ManyServerQueue, QueueingNetwork, Station
from qmodels.queues import PriorityClass, PriorityQueue, Queue, drain_time
from validation.queues import simulate_queue


def checked(exercise, found, book, rel=1e-9):
    """Print an answer beside its closed form."""
    print(f"{exercise}: {found:.6g} (closed form {book:.6g})")
    assert isclose(found, book, rel_tol=rel)


checked("1. jobs there", Queue("M/M/1", 0.8, 1.0).mean_jobs, 4.0)
checked("2. wait", Queue("M/M/3", 2.0, 1.0).wait_probability, 4 / 9)
lost = 1.0
for lines in range(1, 11):
    lost = 10 * lost / (lines + 10 * lost)
checked("3. calls lost", Queue("M/G/10/10", 10.0, 1.0, service_scv=4.0).blocking, lost)
checked("4. seconds of waiting", Queue("M/D/1", 0.8, 1.0).mean_wait, Queue("M/M/1", 0.8, 1.0).mean_wait / 2)
checked("5. jobs lost", Queue("M/M/1/3", 1.0, 1.0).blocking, 0.25)

# %%
# Laws, priorities and time
# -------------------------
# 6. Two stages of exponential gaps before an exponential server at half its speed: the root of
#    x (2 - x)^2 = 1 is (3 - sqrt(5)) / 2, and the wait x / (2 (1 - x)).
# 7. Cobham: with loads of .3 and .5 the urgent wait .8 / .7 s, the others .8 / (.7 x .2) s.
# 8. Ten jobs before a server that is busy half of the time: the nine that wait take a busy period each.

one = PhaseType.exponential(mean=1.0)
root = (3 - sqrt(5)) / 2
queue = ManyServerQueue(PhaseType.erlang(phases=2, mean=1.0), one.scale(0.5), servers=1)
checked("6. seconds of waiting", queue.solve().mean_wait, root / (2 * (1 - root)))
urgent, others = PriorityQueue([PriorityClass(0.3, one), PriorityClass(0.5, one)]).mean_wait
checked("7. seconds of waiting, urgent", urgent, 0.8 / 0.7)
checked("7. seconds of waiting, others", others, 0.8 / (0.7 * 0.2))
checked("8. seconds to drain", drain_time(ManyServerQueue(one.scale(2.0), one, servers=1), 10).mean, 18.0)

# %%
# Networks and simulation
# -----------------------
# 9. Four jobs go round between two equal stations: each is busy 4/5 of its time.
# 10. Processor sharing does not see the law of the service: 1 / (1 - .7) s, however unlike the jobs.

stations = [Station("processor"), Station("disk")]
jobs = CustomerClass({"processor": 1.0, "disk": 1.0}, population=4)
checked("9. passages per second", QueueingNetwork(stations, [jobs]).solve().throughput[0], 0.8)
giants = PhaseType.hyperexponential(weights=[0.9, 0.1], means=[0.5, 5.5])
run = simulate_queue(one.scale(1 / 0.7), giants, discipline="ps", replications=20, seed=3)
print("10.", run.mean_response, "for", round(1 / 0.3, 4))

# %%
# The wait against the load: the formula everybody knows, and what variable jobs make of it.

loads = np.linspace(0.05, 0.95, 40)
figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
for scv in (0.0, 1.0, 4.0):
    waits = [Queue("M/G/1", load, 1.0, service_scv=scv).mean_wait for load in loads]
    ax.plot(loads, waits, label=f"variance {scv:g} times the mean squared")
ax.set(xlabel="load", ylabel="mean wait [services]", ylim=(0, 20))
ax.legend(loc="upper left")
