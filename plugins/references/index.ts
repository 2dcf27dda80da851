/** Checks what references point at. Spec: [conformance] reference_policy. */
import { definePlugin } from '../../kernel/index.ts'
import { Database } from '../database/service.ts'
import { Fhir } from '../fhir/service.ts'
import { referenceConformance } from './config.ts'
import * as errors from './errors.ts'
import { strict } from './strict.ts'
import { createKnownTargets, noTargetCache } from './target-cache.ts'
import { typesOnly } from './types-only.ts'

export default definePlugin({
  name: 'references',
  description: 'Checks what references point at',
  config: { conformance: referenceConformance },
  needs: { database: Database, fhir: Fhir },
  errors,
  setup({ config: { conformance }, needs: { database, fhir } }) {
    const isStrict = conformance.reference_policy === 'strict'
    const known = database.kind === 'postgres' ? noTargetCache : createKnownTargets()
    fhir.check(isStrict ? strict(fhir, known) : typesOnly(fhir))
    fhir.describe({ referencePolicy: ['literal', 'logical', ...(isStrict ? ['enforced', 'local'] : [])] })
  },
})
