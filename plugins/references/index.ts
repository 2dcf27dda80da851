/** What a reference may point at. Spec: [conformance] reference_policy. */
import { definePlugin } from '../../kernel/index.ts'
import { Fhir } from '../fhir/service.ts'
import { conformanceSection } from './config.ts'
import * as errors from './errors.ts'
import { strict } from './strict.ts'
import { typesOnly } from './types-only.ts'

export default definePlugin({
  name: 'references',
  description: 'Checks what references point at',
  config: { conformance: conformanceSection },
  needs: { fhir: Fhir },
  errors,
  setup({ config: { conformance }, needs: { fhir } }) {
    const isStrict = conformance.reference_policy === 'strict'
    fhir.check(isStrict ? strict(fhir) : typesOnly(fhir))
    fhir.describe({ referencePolicy: ['literal', 'logical', ...(isStrict ? ['enforced', 'local'] : [])] })
  },
})
