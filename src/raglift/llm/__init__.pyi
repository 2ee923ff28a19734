from .language_models import LanguageModel as LanguageModel
from .language_models import language_model as language_model
from .replies import FilledPrompt as FilledPrompt
from .replies import Usage as Usage
