# The command line in a container: docs/how-to/install.md
FROM python:3.12-slim AS wheel
COPY . /source
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /wheels /source

FROM python:3.12-slim
ARG EXTRAS=report
COPY constraints.txt /tmp/
COPY --from=wheel /wheels /tmp/wheels
RUN pip install --no-cache-dir -c /tmp/constraints.txt "$(echo /tmp/wheels/*.whl)${EXTRAS:+[$EXTRAS]}" && rm -r /tmp/wheels
# Any user may keep the cache of models and vectors there
ENV RAGLIFT_CACHE=/tmp/raglift-cache
RUN useradd --create-home raglift && install -d -o raglift /work
USER raglift
WORKDIR /work
ENTRYPOINT ["raglift"]
CMD ["--help"]
