export { doublingBackoff, nextTry } from './backoff.js';
export {
  type BrandColours,
  brandColours,
  BUTTON_CONTRAST,
  colourFault,
  contrastRatio,
  legibleOn,
  parseColour,
} from './brand-colour.js';
export { coloursOf } from './house-colours.js';
export { PUBLISHED_EVENT_TYPES, type PublishedEventType } from './published-event-types.js';
export { API_SCOPES, type ApiScope } from './api-scope.js';
export { boundedErrors } from './bounded-errors.js';
export { counted } from './counted.js';
export { Clock, ManualClock, SystemClock } from './clock.js';
export { defineEvent, type DomainEvent, type EventType } from './domain-event.js';
export {
  DomainError,
  type DomainErrorCode,
  DomainValidationError,
  InvalidStateError,
  NotFoundError,
  UnavailableError,
} from './domain-error.js';
export { InUseError, type ResourceUser, type UserKind } from './in-use.error.js';
export { type EmailAddress, type EmailAddressResult, hostName, parseEmailAddress } from './email-address.js';
export { isUuid, newId } from './ids.js';
export { firstIpAddress, parseIpAddress } from './ip-address.js';
export { joinOctets, type MailBody, type Octets, octetsOf, sizeOf } from './mail-body.js';
export { formatMoney } from './money.js';
export { type Cursor, offsetOf, type Page, pageOfRows, type PageRequest, type Place } from './page.js';
export type { Environment, ProjectScope } from './project-scope.js';
export { firstOf } from './first-of.js';
export {
  isTimeZone,
  LOCALE_FAULT,
  matchLocale,
  parseFileLocale,
  parseLocale,
  SHIPPED_LOCALES,
  shippedLocale,
  TIME_ZONE_FAULT,
} from './locale.js';
export {
  firstMomentOf,
  lastMomentOf,
  momentOfLocalTime,
  momentOfWallTime,
  parseLocalTime,
  type WallTime,
  wallTime,
} from './local-time.js';
