export { ApiKeyAuthenticator } from './authentication/api-key-authenticator.js';
export type { AuthenticatedCaller } from './authentication/authenticated-caller.js';
export { HttpKitModule } from './http-kit.module.js';
export { API_PREFIX, ApiController } from './operation/api-controller.decorator.js';
export { Operation } from './operation/operation.decorator.js';
export type { OperationOptions, OperationResponse } from './operation/operation-options.js';
export { Caller, ClientAddress, InScope } from './authentication/request-values.decorator.js';
export { PLACES } from './pagination/cursor.js';
export { pageOf, pageQuery, type Pagination, pagination, toPage } from './pagination/page.js';
export { invalidRequest, ProblemError } from './problems/problem-error.js';
export {
  isProblemSlug,
  PROBLEM_TYPES,
  type ProblemSlug,
  type ProblemType,
} from './problems/problem-types.js';
export { LimitClients } from './rate-limit/rate-limits.js';
export { RouteTable } from './routing/route-table.js';
export { Draining } from './server/draining.js';
export { requestIdOf } from './server/request-id.js';
export { createHttpAdapter } from './server/http-adapter.js';
export { useHttpKit } from './use-http-kit.js';
export { validBody } from './validation/request-validation.pipe.js';
export { isUnavailability } from '../lifecycle/unavailability.js';
export { emailField, emailParam, emailText, int64, timestamp, uuid } from './validation/fields.js';
export { parseInput } from './validation/parse-input.js';
export { strictBody } from './validation/strict-body.js';
