import type { OperationEntry } from './document.js';

/** A sample that calls the operation with the SDK; null when the SDK has no method for it. */
export function sdkSample(operation: OperationEntry): string | null {
  const { 'x-sdk-method': method, parameters = [], requestBody } = operation;
  if (method === undefined) return null;
  const values = parameters.filter((parameter) => parameter.in === 'path').map(({ example }) => example);
  const body = requestBody?.content['application/json']?.example;
  if (body !== undefined) values.push(body);
  const takesImage = requestBody?.content['image/png'] !== undefined;
  const given = takesImage ? ['picture'] : values.map(literal);
  const call = `mailwright.${method}(${given.join(', ')})`;
  const isList = parameters.some(({ name }) => name === 'page');
  return `${takesImage ? "import { openAsBlob } from 'node:fs';\n" : ''}import { Mailwright } from '@mailwright/sdk';

const mailwright = new Mailwright({
  apiKey: process.env.MAILWRIGHT_KEY ?? '',
  baseUrl: process.env.MAILWRIGHT_URL ?? '',
});

${takesImage ? "const picture = await openAsBlob('logo.png', { type: 'image/png' });\n" : ''}${isList ? `for await (const item of ${call}) console.log(item);` : `console.log(await ${call});`}`;
}

/** JSON in the style of TypeScript. */
function literal(value: unknown): string {
  return JSON.stringify(value, null, 2)
    .replaceAll(/^(\s*)"([A-Za-z_]\w*)":/gm, '$1$2:')
    .replaceAll(/"(?:[^"\\]|\\.)*"/g, (text) =>
      text.includes("'") ? text : `'${text.slice(1, -1).replaceAll(String.raw`\"`, '"')}'`,
    );
}
