/** The definitions of installed packages over REST: read and searched like stored resources, and not changed. */
import { definePlugin } from '../../kernel/index.ts'
import { Fhir } from '../fhir/service.ts'
import { DefinitionNames } from '../packages/service.ts'
import { createDefinitionResources } from './definition-resources.ts'
import * as errors from './errors.ts'
import { reservedIdCheck } from './reserved-id-check.ts'

export default definePlugin({
  name: 'definitions',
  description: 'Shows the definitions of installed packages over REST',
  needs: { names: DefinitionNames, fhir: Fhir },
  errors,
  setup({ needs: { names, fhir } }) {
    const resources = createDefinitionResources(names)
    fhir.showBeside(resources)
    fhir.check(reservedIdCheck(resources))
    return { start: () => resources.open() }
  },
})
