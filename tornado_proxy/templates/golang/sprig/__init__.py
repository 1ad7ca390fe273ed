"""The functions of Masterminds/sprig 3.3 that give the same answer for the same arguments, by topic.

Each module has one table, `FUNCTIONS`; `templates.golang.template.functions` joins them. What reads the clock, chance,
the environment, the network or files, and what takes long on purpose, is in `templates.golang.template.REFUSED` with
the reason.
"""
