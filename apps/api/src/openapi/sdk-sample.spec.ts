import { expect, it } from '@jest/globals';
import type { OperationEntry } from './document.js';
import { sdkSample } from './sdk-sample.js';

const callOf = (operation: Partial<OperationEntry>) =>
  sdkSample({ operationId: 'any', responses: {}, ...operation })
    ?.split('\n\n')
    .at(-1);

it('an operation as a call of the SDK, with its path and body', () => {
  const example = { name: "Ada's", rules: '{"version":1}', ids: ['a'], 'content-type': 'x' };
  const call = callOf({
    'x-sdk-method': 'segments.update',
    parameters: [{ name: 'segmentId', in: 'path', example: 'APIT-1' }],
    requestBody: { content: { 'application/json': { example } } },
  });
  expect(call).toBe(`console.log(await mailwright.segments.update('APIT-1', {
  name: "Ada's",
  rules: '{"version":1}',
  ids: [
    'a'
  ],
  'content-type': 'x'
}));`);
});

it('a list as a loop over all its pages', () => {
  const parameters = [{ name: 'page', in: 'query' }];
  expect(callOf({ 'x-sdk-method': 'topics.all', parameters })).toBe(
    'for await (const item of mailwright.topics.all()) console.log(item);',
  );
});

it('nothing of an operation that the SDK does not have', () => {
  expect(sdkSample({ operationId: 'sendParcel', responses: {} })).toBeNull();
});
