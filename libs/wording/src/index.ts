export {
  catalogueOf as defaultTexts,
  datesOf,
  type ShippedLocale,
  Wording,
  type WordingKey,
  wordingKeys,
  type WordingOverrides,
} from './wording.js';
export { messageFaults } from './message-faults.js';
