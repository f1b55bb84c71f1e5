export const PLAN_TIERS = ['FREE', 'STANDARD', 'PRO'] as const;
export type PlanTier = (typeof PLAN_TIERS)[number];

/** A limit's value where there is none. */
export const UNLIMITED = -1;

/** The limits and features of a plan; a count of −1 is unlimited. Months are those of `billingPeriod`. */
export interface PlanLimits {
  readonly maxSubscribers: number;
  readonly maxCampaignsPerMonth: number;
  readonly maxProjects: number;
  readonly maxAiRequestsPerMonth: number;
  readonly maxUsers: number;
  readonly maxEmailsPerMonth: number;
  readonly customFieldsEnabled: boolean;
  readonly automationsEnabled: boolean;
  readonly advancedSegmentsEnabled: boolean;
  readonly customDomainEnabled: boolean;
  readonly apiAccessEnabled: boolean;
  readonly prioritySupport: boolean;
}

/** A plan's price in minor units of the currency. */
export interface PlanPrice {
  /** ISO 4217. */
  readonly currency: string;
  readonly monthlyCents: number;
  readonly yearlyCents: number;
}

/** A plan with one of the numbers of AI credits that it is sold with. */
export interface PlanVariant {
  readonly id: number;
  /** A month, whatever the plan is billed by. */
  readonly aiCredits: number;
  readonly prices: readonly PlanPrice[];
}

/** One version of a plan. It never changes: another price is another version. */
export class Plan {
  readonly id!: number;
  readonly tier!: PlanTier;
  readonly version!: number;
  readonly name!: string;
  readonly description!: string;
  readonly limits!: PlanLimits;
  /** Fewest AI credits first. */
  readonly variants!: readonly PlanVariant[];
  /** Start of its retirement; null while it is on offer. */
  readonly retiredAt!: Date | null;
}

/** The currency that every plan has a price in. */
export const BASE_CURRENCY = 'USD';

/** The price in `currency`, or in the base currency where the plan has none in it. */
export function priceIn(variant: PlanVariant, currency: string): PlanPrice {
  const price =
    variant.prices.find((candidate) => candidate.currency === currency) ??
    variant.prices.find((candidate) => candidate.currency === BASE_CURRENCY);
  if (price === undefined) throw new Error(`The variant ${variant.id} has no price in ${BASE_CURRENCY}.`);
  return price;
}

/** The currencies in use of ISO 4217:2015, table A.1 as amended to 2025, without funds, metals and test codes. */
const CURRENCIES = new Set(
  (
    'AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BHD BIF BMD BND BOB BRL BSD BTN BWP BYN BZD CAD CDF CHF CLP ' +
    'CNY COP CRC CUP CVE CZK DJF DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GNF GTQ GYD HKD HNL HTG ' +
    'HUF IDR ILS INR IQD IRR ISK JMD JOD JPY KES KGS KHR KMF KPW KRW KWD KYD KZT LAK LBP LKR LRD LSL LYD MAD MDL ' +
    'MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MYR MZN NAD NGN NIO NOK NPR NZD OMR PAB PEN PGK PHP PKR PLN PYG QAR ' +
    'RON RSD RUB RWF SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TND TOP TRY TTD TWD ' +
    'TZS UAH UGX USD UYU UZS VED VES VND VUV WST XAF XCD XCG XOF XPF YER ZAR ZMW ZWG'
  ).split(' '),
);

/** True for the code, in capitals, of a currency in use. */
export function isCurrency(code: string): boolean {
  return CURRENCIES.has(code);
}
