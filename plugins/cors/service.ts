/** What a plugin that knows the apps which call this server tells about them. */
import { defineService } from '../../kernel/index.ts'

export { originOf } from './origin-of.ts'

export interface WebApps {
  /** Is it the origin of an app? Asked for each request of a page of another origin; waits for nothing. */
  hasOrigin(origin: string): boolean
  /** Routes, as they are declared, that say the same to everybody: pages of every origin may read them. */
  readonly openRoutes: readonly string[]
  /** Routes that only pages of this server may read: login and consent. */
  readonly closedRoutes: readonly string[]
}

/** Provided by whoever knows the apps; no other plugin may. */
export const WebApps = defineService<WebApps>('cors.apps')
