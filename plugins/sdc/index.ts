/** Structured Data Capture: forms that are filled in, checked and extracted. https://hl7.org/fhir/uv/sdc/ */
import { definePlugin } from '../../kernel/index.ts'
import { Fhir, Resources } from '../fhir/service.ts'
import { Definitions } from '../packages/service.ts'
import { Terminology } from '../terminology/service.ts'
import { Validator } from '../validation/service.ts'
import { createReadQuestionnaire } from './check/read-questionnaire.ts'
import { createResponseCheck } from './check/response-check.ts'
import * as errors from './errors.ts'
import { createFindCodes } from './operations/answer-questions.ts'
import { sdcOperations } from './operations/operations.ts'
import { createEvaluationThreads } from './threads/evaluation-threads.ts'

const PACKAGE = 'hl7.fhir.uv.sdc'

export default definePlugin({
  name: 'sdc',
  description: 'Fills in, checks and extracts forms: the operations of Structured Data Capture',
  needs: { definitions: Definitions, fhir: Fhir },
  uses: [Terminology, Validator],
  errors,
  setup({ needs: { definitions, fhir }, optional, later, clock, random }) {
    const threads = createEvaluationThreads(clock)
    const isInstalled = (): boolean => definitions.packages.some(({ name }) => name === PACKAGE)
    const terminology = optional(Terminology)
    const parts = {
      ...{ definitions, terminology, threads, clock, random, isInstalled },
      checkInstalled(operation: string): void {
        if (!isInstalled()) throw errors.PackageMissing(operation)
      },
    }
    for (const operation of sdcOperations(parts)) fhir.operation(operation)
    const readQuestionnaire = createReadQuestionnaire({ resources: later(Resources), definitions })
    optional(Validator)?.addCheck(
      createResponseCheck({ readQuestionnaire, threads, findCodes: createFindCodes(terminology) }),
    )
    return { stop: () => threads.close() }
  },
})
