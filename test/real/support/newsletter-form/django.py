"""A Django project in one file, with the middleware of a new one. Beside it are `newsletter.py`, `handler.py` and `form.html`."""
import sys
from pathlib import Path

from django.conf import settings

settings.configure(
    ALLOWED_HOSTS=["127.0.0.1"],
    MIDDLEWARE=["django.middleware.common.CommonMiddleware", "django.middleware.csrf.CsrfViewMiddleware"],
    ROOT_URLCONF=__name__,
    SECRET_KEY="a-secret",
    TEMPLATES=[{"BACKEND": "django.template.backends.django.DjangoTemplates", "DIRS": [Path(__file__).parent]}],
)

from django.core.management import execute_from_command_line
from django.shortcuts import render
from django.urls import path

from handler import newsletter

urlpatterns = [path("", lambda request: render(request, "form.html")), path("newsletter", newsletter)]
execute_from_command_line(sys.argv)
