"""What pytest loads of raglift, in every project that has it installed: options, a mark and fixtures, and no more.

Nothing else of raglift is imported until a test uses one of them.
"""
