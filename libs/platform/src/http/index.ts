export { FIELDS_PARAMETER } from './operation/answer-fields.js';
export {
  ApiKeyAuthenticator,
  type AuthenticatedCaller,
  Caller,
  ClientAddress,
  InScope,
} from './operation/caller.js';
export { Idempotent } from './guards/idempotency.guard.js';
export { HttpKitModule } from './http-kit.module.js';
export {
  type Answer,
  API_PREFIX,
  ApiController,
  Operation,
  type OperationOptions,
  type OperationResponse,
  OPERATOR_PREFIX,
  OperatorController,
} from './operation/operation.decorator.js';
export {
  numberedPageQuery,
  pageOf,
  pageQuery,
  type Pagination,
  pagination,
  PLACES,
  toNumberedPage,
  toPage,
} from './operation/pagination.js';
export {
  invalidRequest,
  isProblemSlug,
  PROBLEM_TYPES,
  ProblemError,
  type ProblemSlug,
  type ProblemType,
} from './operation/problem.js';
export { wrongType } from './body-parsers.js';
export { partProblem } from './operation/problem.filter.js';
export { streamedJson } from './operation/streamed-json.js';
export { requireScopeOf } from './guards/access.hook.js';
export { LimitClients } from './guards/rate-limit.guard.js';
export { RouteTable } from './operation/route-table.js';
export { Draining } from './connections.js';
export { createHttpAdapter, requestIdOf } from './http-adapter.js';
export { useHttpKit } from './use-http-kit.js';
export {
  emailField,
  emailText,
  int64,
  parseInput,
  readInput,
  storedTextFault,
  strictBody,
  timestamp,
  uuid,
  validBody,
} from './operation/validation.js';
export { isUnavailability } from '../lifecycle/outage.js';
