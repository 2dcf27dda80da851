/** Lets people log in at an OpenID provider. Spec: [smart.oidc], Authentication 6. */
import { definePlugin, Type } from '../../kernel/index.ts'
import { Resources } from '../fhir/service.ts'
import { checkedSettings } from './checked-settings.ts'
import { lookupSection, oidcSection } from './config.ts'
import { createDiscovery } from './discovery.ts'
import * as errors from './errors.ts'
import { createProviderLogin } from './provider-login.ts'
import { ProviderLogin } from './service.ts'

export default definePlugin({
  name: 'oidc',
  description: 'Lets people log in at an OpenID Connect provider',
  config: {
    'smart.oidc': oidcSection,
    'smart.oidc.fhir_user_lookup': lookupSection,
    // The plugin smart declares [smart]; this plugin only reads it.
    smart: Type.Object({}),
  },
  needs: { resources: Resources },
  provides: [ProviderLogin],
  errors,
  enabled: ({ 'smart.oidc': { issuer } }) => issuer !== undefined,
  setup({ config, needs: { resources }, provide, request, clock, log }) {
    const settings = checkedSettings(config['smart.oidc'], config['smart.oidc.fhir_user_lookup'])
    const stopped = new AbortController()
    const discovery = createDiscovery(settings, clock, stopped.signal)
    const ownUrl = () => request({ caller: { kind: 'internal' }, purpose: 'login' }).ownUrl
    provide(ProviderLogin, createProviderLogin({ settings, discovery, resources, ownUrl, clock, log }))
    const { enabled } = config.smart as { enabled?: boolean }
    if (enabled !== true) {
      log.warn('[smart.oidc] issuer is not used: [smart] enabled is false, so nobody logs in')
      return {}
    }
    return {
      // Not waited for: the server starts while the provider is down.
      async start() {
        discovery
          .metadata()
          .then(({ issuer }) => log.info({ issuer }, 'the OpenID provider answers'))
          .catch(({ message: reason }) => {
            if (!stopped.signal.aborted)
              log.warn({ reason }, 'the OpenID provider cannot be used yet: nobody can log in until it can')
          })
      },
      stop: async () => stopped.abort(),
    }
  },
})
