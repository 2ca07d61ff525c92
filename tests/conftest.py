from hypothesis import settings

# A shared or busy machine must not fail a test that is only slow.
settings.register_profile("agentls", deadline=None)
settings.load_profile("agentls")
