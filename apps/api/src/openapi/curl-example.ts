import type { OpenApiDocument, OperationEntry, Parameter } from './document.js';
import { exampleOf } from './example-value.js';

/** One call of the operation, ready for a terminal with the key in `$MAILWRIGHT_KEY`. */
export function curlExample(
  document: OpenApiDocument,
  path: string,
  method: string,
  operation: OperationEntry,
): string {
  const parameters = operation.parameters ?? [];
  const target = path.replace(/\{(\w+)\}/g, (_match, name: string) => pathValue(name, parameters));
  const lines = [
    `curl${method === 'get' ? '' : ` -X ${method.toUpperCase()}`} '${document.servers?.[0]?.url ?? ''}${target}'`,
    `-H "X-API-Key: $MAILWRIGHT_KEY"`,
  ];
  const header = parameters.find((parameter) => parameter.in === 'header' && parameter.required === true);
  if (header !== undefined) lines.push(`-H '${header.name}: true'`);
  const body = operation.requestBody?.content['application/json']?.schema;
  if (body !== undefined) {
    const example = JSON.stringify(exampleOf(body, document.components.schemas));
    lines.push(`-H 'Content-Type: application/json'`, `-d '${example.replaceAll("'", String.raw`'\''`)}'`);
  }
  return lines.join(' \\\n  ');
}

function pathValue(name: string, parameters: readonly Parameter[]): string {
  const schema =
    parameters.find((parameter) => parameter.in === 'path' && parameter.name === name)?.schema ?? {};
  if (name === 'email') return 'jane%40example.com';
  if (name.endsWith('Key')) return name === 'campaignKey' ? 'APIT-001' : 'APIT-1';
  return String(exampleOf({ type: 'string', ...schema }, {}));
}
