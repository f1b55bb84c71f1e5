import type { z } from 'zod';
import type { ApiScope } from '#kernel';

/** What an operation answers when all is well. */
export interface OperationResponse {
  readonly status: 200 | 201 | 202 | 204;
  /** JSON bodies: what is sent, documented and serialised. Absent: no body, or `contentType` says which. */
  readonly schema?: z.ZodType;
  /** Bodies other than JSON, e.g. `text/csv; charset=utf-8`. */
  readonly contentType?: string;
  readonly description?: string;
  /** The `Location` header names what was made; the handler sets it. */
  readonly location?: true;
}

/** One operation of the API: the one source of its scope, status, documentation and serialisation. */
export interface OperationOptions {
  /** Unique, lowerCamelCase: `listTopics`. */
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
  /** The scope that a key needs; null: any valid key. */
  readonly scope: ApiScope | null;
  /** The same schema that `@Query({ schema })` validates with. What it does not name is refused. */
  readonly query?: z.ZodObject;
  /** The same schema that `@Body({ schema })` validates with. Absent: the operation takes no body. */
  readonly body?: z.ZodType;
  /** Media types that are handed to the handler as an unread stream (`@Req() request.body`), beside JSON. */
  readonly streams?: readonly string[];
  /** Octets that a JSON body may have; the default is 1 MB. Streams have no limit. */
  readonly maxBodyBytes?: number;
  readonly response: OperationResponse;
  /** Statuses of problems that do not follow from the operation's shape, such as 409. */
  readonly problems?: readonly number[];
  /** Milliseconds that the whole request may take; the default is 30 s, and 10 min with `streams`. */
  readonly timeoutMs?: number;
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Set by `@Operation`; absent on routes that need no key. */
    operation?: OperationOptions;
  }
}
