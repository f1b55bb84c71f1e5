import { POSTED_SCHEMAS, postSchema } from '../webhooks/event-schemas.js';
import type { OpenApiDocument, Parameter } from './document.js';

type Converter = (
  schema: unknown,
  options: { readonly schemaType: 'output' },
) => { schema: object; components: Record<string, object> } | undefined;

const header = (name: string, description: string, example: string): Parameter => ({
  name,
  in: 'header',
  required: true,
  description,
  schema: { type: 'string' },
  example,
});

const HEADERS: readonly Parameter[] = [
  header(
    'webhook-id',
    'The id of the event: one that was posted before has the same.',
    '019cad8f-bba0-7b5d-8c2f-6e4a8b0d2f53',
  ),
  header('webhook-timestamp', 'When it was posted, in Unix seconds.', '1772438404'),
  header(
    'webhook-signature',
    'Signatures by Standard Webhooks, with spaces between them: one, or two while a secret is changed over.',
    'v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=',
  ),
];

const OF_A_PERSON = /^(?:subscriber\.(?:created|updated)|consent|suppression|email|automation)\b/;

/** Adds what endpoints are posted, each type of event with the shape of its `data`. */
export function addWebhooks(document: OpenApiDocument, convert: Converter): OpenApiDocument {
  document.webhooks = {};
  for (const [type, declared] of Object.entries(POSTED_SCHEMAS)) {
    const { schema, components } = convert(postSchema(type, declared), { schemaType: 'output' })!;
    Object.assign(document.components.schemas, referring(components));
    document.webhooks[type] = {
      post: {
        operationId: `on${type.split('.').map(capitalized).join('')}`,
        summary: declared.summary,
        description: descriptionOf(type, declared.summary),
        tags: ['Webhooks'],
        parameters: HEADERS,
        requestBody: {
          required: true,
          content: { 'application/json': { schema: referring(schema) } },
        },
        responses: {
          '2XX': { description: 'It was taken. Any other answer, or none within 5 s, is tried again.' },
        },
      },
    };
  }
  return document;
}

function descriptionOf(type: string, summary: string): string {
  const erased = OF_A_PERSON.test(type)
    ? ' Where the person was erased before it is posted, `data` has `subscriberId` alone.'
    : type.startsWith('message.')
      ? ' Where the person was erased before it is posted, `data` has `subscriberId` or `messageId` alone.'
      : '';
  return `${summary}.${erased}`;
}

const capitalized = (word: string): string => `${word[0]!.toUpperCase()}${word.slice(1)}`;

/** The same with references to the document's components. */
function referring<Value>(value: Value): Value {
  return JSON.parse(JSON.stringify(value).replaceAll('"#/$defs/', '"#/components/schemas/')) as Value;
}
