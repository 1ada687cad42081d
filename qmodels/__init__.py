"""Scaling of parallel programs, and response times of parallel machines under a policy.

Docstrings cite these, to which several of them go back, by names and year alone:

Abate and Whitt 2006
    J. Abate, W. Whitt, "A unified framework for numerically inverting Laplace transforms", *INFORMS J.
    Comput.* 18 (2006) 408-421.
Alfa et al. 2002
    A. S. Alfa, J. Xue, Q. Ye, "Accurate computation of the smallest eigenvalue of a diagonally dominant
    M-matrix", *Math. Comp.* 71 (2002) 217-236.
Amdahl 1967
    G. M. Amdahl, "Validity of the single processor approach to achieving large scale computing
    capabilities", *AFIPS Conf. Proc.* 30 (1967) 483-485.
Asmussen and O'Cinneide 1998
    S. Asmussen, C. A. O'Cinneide, "Representations for matrix-geometric and matrix-exponential
    steady-state distributions with applications to many-server queues", *Stochastic Models* 14 (1998)
    369-387.
Baskett et al. 1975
    F. Baskett, K. M. Chandy, R. R. Muntz, F. G. Palacios, "Open, closed, and mixed networks of queues
    with different classes of customers", *J. ACM* 22 (1975) 248-260.
Buzen 1973
    J. P. Buzen, "Computational algorithms for closed queueing networks with exponential servers",
    *Commun. ACM* 16 (1973) 527-531.
Cao and Chen 1997
    X.-R. Cao, H.-F. Chen, "Perturbation realization, potentials, and sensitivity analysis of Markov
    processes", *IEEE Trans. Automatic Control* 42 (1997) 1382-1393.
Chandy et al. 1975
    K. M. Chandy, U. Herzog, L. Woo, "Parametric analysis of queuing networks", *IBM J. Res. Dev.* 19
    (1975) 36-42.
Daly 2006
    J. T. Daly, "A higher order estimate of the optimum checkpoint interval for restart dumps", *Future
    Generation Computer Systems* 22 (2006) 303-312.
Grassmann et al. 1985
    W. K. Grassmann, M. I. Taksar, D. P. Heyman, "Regenerative analysis and steady-state distributions for
    Markov chains", *Oper. Res.* 33 (1985) 1107-1116.
Grosof et al. 2023
    I. Grosof, Y. Hong, M. Harchol-Balter, A. Scheller-Wolf, "The RESET and MARC techniques, with
    application to multiserver-job analysis", arXiv:2310.01621.
Halko et al. 2011
    N. Halko, P. G. Martinsson, J. A. Tropp, "Finding structure with randomness", *SIAM Review* 53 (2011)
    217-288.
Horváth 2015
    G. Horváth, "Efficient analysis of the MMAP[K]/PH[K]/1 priority queue", *Eur. J. Oper. Res.* 246
    (2015) 128-139.
Jensen 1953
    A. Jensen, "Markoff chains as an aid in the study of Markoff processes", *Skand. Aktuarietidskr.* 36
    (1953) 87-91.
Latouche and Ramaswami 1993
    G. Latouche, V. Ramaswami, "A logarithmic reduction algorithm for quasi-birth-death processes", *J.
    Appl. Probab.* 30 (1993) 650-674.
Neuts 1981
    M. F. Neuts, *Matrix-Geometric Solutions in Stochastic Models*, Johns Hopkins University Press 1981.
Reiser and Lavenberg 1980
    M. Reiser, S. S. Lavenberg, "Mean-value analysis of closed multichain queuing networks", *J. ACM* 27
    (1980) 313-322.
Rosti et al. 1998
    E. Rosti, G. Serazzi, E. Smirni, M. S. Squillante, "The impact of I/O on program behavior and parallel
    scheduling", *Proc. ACM SIGMETRICS* 1998.
Sakasegawa 1977
    H. Sakasegawa, "An approximation formula L_q = alpha rho^beta / (1 - rho)", *Ann. Inst. Statist.
    Math.* 29 (1977) 67-75.
Sengupta 1989
    B. Sengupta, "Markov processes whose steady state distribution is matrix-exponential with an
    application to the GI/PH/1 queue", *Adv. Appl. Probab.* 21 (1989) 159-180.
Squillante 1998
    M. S. Squillante, "Matrix-analytic methods in stochastic parallel-server scheduling models", in
    *Advances in Matrix-Analytic Methods for Stochastic Models*, 1998.
van der Vorst 1992
    H. A. van der Vorst, "Bi-CGSTAB", *SIAM J. Sci. Stat. Comput.* 13 (1992) 631-644.
Young 1974
    J. W. Young, "A first order approximation to the optimum checkpoint interval", *Comm. ACM* 17 (1974)
    530-531.
"""

import sys

import lazy_loader

if sys.platform == "win32":  # files are locked, and memory is asked for, as POSIX does
    raise ImportError("qmodels needs Linux, macOS or WSL; on Windows install it in WSL")

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
