import type { Step } from './step.js';
import { campaignSteps } from './steps/campaign.steps.js';
import { signUpSteps } from './steps/sign-up.steps.js';
import { unsubscribeSteps } from './steps/unsubscribe.steps.js';

/** The whole way of a subscriber, in order. */
export const flow: readonly Step[] = [...signUpSteps, ...campaignSteps, ...unsubscribeSteps];
