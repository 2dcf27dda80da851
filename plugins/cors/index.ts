/**
 * Lets pages of other origins call this server from a browser: the origins in the settings, and those of registered
 * apps.
 */
import { definePlugin } from '../../kernel/index.ts'
import { corsSection } from './config.ts'
import { createCors } from './create-cors.ts'
import * as errors from './errors.ts'
import { originOf } from './origin-of.ts'
import { WebApps } from './service.ts'

export default definePlugin({
  name: 'cors',
  description: 'Lets pages of other origins call this server',
  config: { cors: corsSection },
  uses: [WebApps],
  errors,
  setup({ config: { cors }, hooks, optional }) {
    const { origins } = cors
    const apps = optional(WebApps)
    const malformed = origins.find((one) => originOf(one) !== one)
    if (malformed !== undefined) throw errors.OriginMalformed(malformed)
    if (origins.length > 0 || apps !== undefined) hooks.arrive.tap('origin', createCors(origins, apps))
  },
})
