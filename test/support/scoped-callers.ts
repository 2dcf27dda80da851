/**
 * A plugin that takes callers at their word, as tokens would tell of them: `X-Test-Scope` lists scopes, `X-Test-User` is the
 * FHIR user, `X-Test-Patient` the patient of the launch, `X-Test-Related` the patient of a RelatedPerson.
 */
import { type AnyPlugin, type Caller, definePlugin } from '../../kernel/index.ts'
import { Model } from '../../plugins/model/service.ts'
import { authorizeByScopes } from '../../plugins/smart/scopes/authorize-by-scopes.ts'

/** What a test says of a token. */
export interface TestToken {
  readonly scope?: string
  readonly user?: string
  readonly patient?: string
  readonly related?: string
}

export const tokenHeaders = ({ scope, user, patient, related }: TestToken): Record<string, string> => ({
  ...(scope === undefined ? {} : { 'x-test-scope': scope }),
  ...(user === undefined ? {} : { 'x-test-user': user }),
  ...(patient === undefined ? {} : { 'x-test-patient': patient }),
  ...(related === undefined ? {} : { 'x-test-related': related }),
})

const text = (value: string | readonly string[] | undefined): string | undefined =>
  typeof value === 'string' ? value : undefined

export const scopedCallers: AnyPlugin = definePlugin({
  name: 'scoped-callers',
  needs: { model: Model },
  setup({ hooks, needs: { model } }) {
    hooks.authenticate.tap('as told', ({ headers }): Caller | undefined => {
      const scope = text(headers['x-test-scope'])
      if (scope === undefined) return undefined
      const user = text(headers['x-test-user'])
      const patient = text(headers['x-test-patient'])
      const relatedTo = text(headers['x-test-related'])
      return {
        kind: user === undefined && patient === undefined ? 'client' : 'user',
        client: 'app',
        scopes: scope.split(' '),
        ...(user === undefined ? {} : { user }),
        ...(patient === undefined ? {} : { launch: { patient } }),
        ...(relatedTo === undefined ? {} : { relatedTo }),
      }
    })
    authorizeByScopes(hooks, model)
  },
})
