/** The service through which another plugin says whether the client of a Subscription is still registered. */
import { defineService } from '../../kernel/index.ts'

export interface RegisteredClients {
  /** False where the client was disabled or is not known any more. */
  isActive(client: string): Promise<boolean>
}

/** Provided by the plugin that registers clients; only one plugin can provide it. */
export const RegisteredClients = defineService<RegisteredClients>('subscriptions.clients')
