import type { components, operations as ApiOperations } from './api-types.js';
import type { operations as OperatorOperations } from './operator-types.js';

/** Operations of the API and of the operator's, whose ids differ. */
type Operations = ApiOperations & OperatorOperations;
export type OperationId = keyof Operations;
export type Schemas = components['schemas'];

type JsonOf<Content> = Content extends { 'application/json': infer Json } ? Json : never;
type Success<Id extends OperationId> = Operations[Id]['responses'] extends infer Responses
  ? Responses[keyof Responses & (200 | 201 | 202 | 204)]
  : never;

/** A type whose fields may be `undefined` instead of left out, also with `exactOptionalPropertyTypes`. */
type Given<T> = T extends readonly (infer Element)[]
  ? Given<Element>[]
  : T extends object
    ? {
        [Name in keyof T]: Partial<Pick<T, Name>> extends Pick<T, Name>
          ? Given<T[Name]> | undefined
          : Given<T[Name]>;
      }
    : T;

/** The JSON body of an operation. */
export type Body<Id extends OperationId> = Operations[Id] extends {
  requestBody?: { content: infer Content };
}
  ? Given<JsonOf<Content>>
  : never;

/** The answer of an operation: its JSON, text where it is none, nothing with 204. */
export type Answer<Id extends OperationId> =
  Success<Id> extends { content: infer Content }
    ? [JsonOf<Content>] extends [never]
      ? [keyof Content] extends [never]
        ? undefined
        : string
      : JsonOf<Content>
    : undefined;

/** The query parameters of an operation. */
export type Query<Id extends OperationId> = Operations[Id]['parameters'] extends { query?: infer Parameters }
  ? Given<NonNullable<Parameters>>
  : never;

/** One element of a list. */
export type Item<Id extends OperationId> = Answer<Id> extends { data: (infer Element)[] } ? Element : never;
