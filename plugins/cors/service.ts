/** The service through which another plugin names the client apps whose pages may call this server. */
import { defineService } from '../../kernel/index.ts'

export { originOf } from './origin-of.ts'

export interface WebApps {
  /** True when an app has this origin. Called for each request with the header `Origin`, so it answers from memory. */
  hasOrigin(origin: string): boolean
  /** Routes, as they are declared, whose answer is the same for every caller. Pages of every origin may read them. */
  readonly openRoutes: readonly string[]
  /** Routes that only pages of this server may use, such as login and consent. They get no CORS headers. */
  readonly closedRoutes: readonly string[]
}

/** Provided by the plugin that registers apps; only one plugin can provide it. */
export const WebApps = defineService<WebApps>('cors.apps')
