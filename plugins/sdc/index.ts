/** Structured Data Capture: forms that are filled in, checked and extracted. https://hl7.org/fhir/uv/sdc/ */
import { definePlugin } from '../../kernel/index.ts'
import { Fhir } from '../fhir/service.ts'
import { Definitions } from '../packages/service.ts'
import { Terminology } from '../terminology/service.ts'
import * as errors from './errors.ts'
import { sdcOperations } from './operations/operations.ts'
import { createEvaluationThreads } from './threads/evaluation-threads.ts'

const PACKAGE = 'hl7.fhir.uv.sdc'

export default definePlugin({
  name: 'sdc',
  description: 'Fills in, checks and extracts forms: the operations of Structured Data Capture',
  needs: { definitions: Definitions, fhir: Fhir },
  uses: [Terminology],
  errors,
  setup({ needs: { definitions, fhir }, optional, clock, random }) {
    const threads = createEvaluationThreads(clock)
    const isInstalled = (): boolean => definitions.packages.some(({ name }) => name === PACKAGE)
    const parts = {
      ...{ definitions, threads, clock, random, isInstalled },
      terminology: optional(Terminology),
      checkInstalled(operation: string): void {
        if (!isInstalled()) throw errors.PackageMissing(operation)
      },
    }
    for (const operation of sdcOperations(parts)) fhir.operation(operation)
    return { stop: () => threads.close() }
  },
})
