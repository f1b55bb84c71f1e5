export {
  AccountsModule,
  AccountsService,
  type SubscriptionChange,
  type TenantAccount,
} from './accounts.service.js';
