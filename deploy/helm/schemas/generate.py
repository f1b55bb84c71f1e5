#!/usr/bin/env python3
"""Writes the schemas beside this file, from the sources of Kubernetes, KEDA and the Prometheus operator:

    python3 generate.py "$(go mod download -json k8s.io/kubernetes@v1.37.2 | jq -r .Dir)" KEDA_DIR PROMETHEUS_OPERATOR_DIR

Descriptions are left out, and a field that a kind does not have is refused."""
import json
import os
import sys

import yaml

HERE = os.path.dirname(os.path.abspath(__file__))
KINDS = {
    ('', 'v1', 'ConfigMap'), ('', 'v1', 'Service'), ('apps', 'v1', 'Deployment'), ('batch', 'v1', 'Job'),
    ('autoscaling', 'v2', 'HorizontalPodAutoscaler'), ('networking.k8s.io', 'v1', 'Ingress'),
    ('networking.k8s.io', 'v1', 'NetworkPolicy'), ('policy', 'v1', 'PodDisruptionBudget'),
}
ANY_OF = {
    'io.k8s.apimachinery.pkg.util.intstr.IntOrString': ['string', 'integer'],
    'io.k8s.apimachinery.pkg.api.resource.Quantity': ['string', 'number'],
}


def strict(schema):
    if isinstance(schema, list):
        return [strict(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {}
    for key, value in schema.items():
        if key == 'properties':
            kept[key] = {name: strict(each) for name, each in value.items()}
        elif key != 'description' and not key.startswith('x-kubernetes'):
            kept[key] = strict(value)
    if schema.get('x-kubernetes-int-or-string'):
        kept.pop('anyOf', None)
        kept['type'] = ['string', 'integer']
    if 'properties' in kept and not schema.get('x-kubernetes-preserve-unknown-fields'):
        kept.setdefault('additionalProperties', False)
    return kept


def reachable(schema, definitions, found):
    for name in sorted(set(references(schema)) - set(found)):
        found[name] = {'type': ANY_OF[name]} if name in ANY_OF else strict(definitions[name])
        reachable(found[name], definitions, found)
    return found


def references(schema):
    if isinstance(schema, dict):
        for key, value in schema.items():
            yield from [value.removeprefix('#/definitions/')] if key == '$ref' else references(value)
    elif isinstance(schema, list):
        for each in schema:
            yield from references(each)


def write(kind, group, version, schema):
    name = '-'.join(part for part in [kind, group.split('.')[0], version] if part).lower()
    with open(os.path.join(HERE, name + '.json'), 'w') as file:
        json.dump(schema, file, sort_keys=True, separators=(',', ':'))
        file.write('\n')


def kubernetes(directory):
    with open(os.path.join(directory, 'api/openapi-spec/swagger.json')) as file:
        definitions = json.load(file)['definitions']
    for definition in definitions.values():
        for one in definition.get('x-kubernetes-group-version-kind', []):
            if (one['group'], one['version'], one['kind']) in KINDS:
                schema = strict(definition)
                schema['definitions'] = reachable(schema, definitions, {})
                write(one['kind'], one['group'], one['version'], schema)


def custom(path):
    with open(path) as file:
        crd = yaml.safe_load(file)['spec']
    for version in crd['versions']:
        schema = strict(version['schema']['openAPIV3Schema'])
        # The CRD leaves it to the server to know.
        schema['properties']['metadata'] = {'type': 'object'}
        write(crd['names']['kind'], crd['group'], version['name'], schema)


kubernetes(sys.argv[1])
for name in ['scaledobjects', 'triggerauthentications']:
    custom(os.path.join(sys.argv[2], 'config/crd/bases/keda.sh_%s.yaml' % name))
custom(os.path.join(sys.argv[3], 'example/prometheus-operator-crd/monitoring.coreos.com_servicemonitors.yaml'))
