import {
  type MediaType,
  type OpenApiDocument,
  operationsOf,
  type Parameter,
  type Schema,
} from './document.js';
import { exampleOf, type Fields } from './example-value.js';
import { problemExamples } from './problem-examples.js';
import { sdkSample } from './sdk-sample.js';

type Schemas = Readonly<Record<string, Schema>>;

/** Adds a valid example to every body, answer and parameter of the document, and a code sample to every operation. */
export function addExamples(document: OpenApiDocument): void {
  const { schemas } = document.components;
  const used = usedProblems(document);
  const examples = Object.entries(problemExamples(document.servers?.[0]?.url ?? ''));
  document.components.examples = Object.fromEntries(examples.filter(([slug]) => used.has(slug)));
  for (const { operation } of operationsOf(document)) {
    addToBodies(operation.requestBody?.content ?? {}, schemas, 'required');
    for (const response of Object.values(operation.responses))
      addToBodies(response.content ?? {}, schemas, 'all');
    for (const parameter of operation.parameters ?? []) addToParameter(parameter, schemas);
    const source = sdkSample(operation);
    if (source !== null) operation['x-codeSamples'] = [{ lang: 'typescript', label: 'TypeScript', source }];
  }
}

function usedProblems(document: OpenApiDocument): ReadonlySet<string> {
  const own = operationsOf(document).flatMap(({ operation }) => Object.values(operation.responses));
  const all = [...own, ...Object.values(document.components.responses ?? {})];
  const media = all.flatMap(({ content }) => Object.values(content ?? {}));
  return new Set(media.flatMap(({ examples }) => Object.keys(examples ?? {})));
}

function addToBodies(content: Record<string, MediaType>, schemas: Schemas, fields: Fields): void {
  const media = content['application/json'];
  if (media?.schema !== undefined) media.example = exampleOf(media.schema, schemas, fields);
}

/** Adds examples to path parameters only. */
function addToParameter(parameter: Parameter, schemas: Schemas): void {
  if (parameter.in !== 'path') return;
  parameter.example = exampleOf({ type: 'string', ...parameter.schema }, schemas, 'required', parameter.name);
}
