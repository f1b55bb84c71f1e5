import { expect, it } from '@jest/globals';
import type { OperationEntry } from './document.js';
import { curlSample, pythonSample, sdkSample } from './request-samples.js';

const callOf = (operation: Partial<OperationEntry>) =>
  sdkSample('/api/v1/any', { operationId: 'any', responses: {}, ...operation })
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

it('an operation of the operator’s API by the SDK’s entry for it', () => {
  const operation = { operationId: 'any', responses: {}, 'x-sdk-method': 'tenants.get' };
  const parameters = [{ name: 'tenantKey', in: 'path', example: 'ACME' }];
  expect(sdkSample('/operator/v1/tenants/{tenantKey}', { ...operation, parameters })).toBe(
    `import { MailwrightOperator } from '@mailwright/sdk/operator';

const operator = new MailwrightOperator({
  apiKey: process.env.MAILWRIGHT_OPERATOR_KEY ?? '',
  baseUrl: process.env.MAILWRIGHT_URL ?? '',
});

console.log(await operator.tenants.get('ACME'));`,
  );
});

it('nothing of an operation that the SDK does not have', () => {
  expect(sdkSample('/api/v1/parcels', { operationId: 'sendParcel', responses: {} })).toBeNull();
});

it('a request by curl, whatever its JSON has in it', () => {
  expect(curlSample({ method: 'get', path: '/api/v1/topics' })).toBe(
    'curl "$MAILWRIGHT_URL/api/v1/topics" \\\n  -H "X-API-Key: $MAILWRIGHT_KEY"',
  );
  expect(curlSample({ method: 'post', path: '/x', body: { name: "Ada's" } })).toContain(
    String.raw`-d '{
  "name": "Ada'\''s"
}'`,
  );
  expect(curlSample({ method: 'post', path: '/x', fileType: 'text/csv' })).toContain(
    '--data-binary @people.csv',
  );
});

it('a request in Python, with its names for null, true and false', () => {
  const body = { name: "Ada's", deep: { none: null, yes: true }, ids: ['a', 'b'], empty: [] };
  expect(pythonSample({ method: 'patch', path: '/x', body })).toBe(`import os, requests

response = requests.patch(
    f"{os.environ['MAILWRIGHT_URL']}/x",
    headers={"X-API-Key": os.environ["MAILWRIGHT_KEY"]},
    json={
        "name": "Ada's",
        "deep": {
            "none": None,
            "yes": True,
        },
        "ids": ["a", "b"],
        "empty": [],
    },
)
response.raise_for_status()`);
});
