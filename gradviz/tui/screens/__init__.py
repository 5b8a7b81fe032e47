"""The screens that lie over the debug screen: prompts, lists, dialogs, values, the diagnosis."""
