"""What breaks a promise on the way in: facts about connectors, topics and databases → findings.

Pure judgements: `lakehouse.inspection` reads the facts, `lakehouse doctor` prints the findings.
"""
