/** How many mails a new domain may send on its days, so that mailbox providers get to know it. */
export const WARM_UP_SCHEDULE = {
  firstDay: 200,
  /** Each day has so many times the day before. */
  growth: 1.5,
  /** From then on there is no cap. */
  days: 30,
} as const;
