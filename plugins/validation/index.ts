/** Validates every write against the installed StructureDefinitions. */
import { definePlugin } from '../../kernel/index.ts'
import { Definitions } from '../packages/service.ts'
import { validationConformance } from './config.ts'
import * as errors from './errors.ts'
import { createValidator } from './validator.ts'
import { Validator } from './validator-contract.ts'

export default definePlugin({
  name: 'validation',
  description: 'Checks resources against the installed StructureDefinitions',
  config: { conformance: validationConformance },
  needs: { definitions: Definitions },
  provides: [Validator],
  errors,
  setup({ config: { conformance }, needs: { definitions }, provide }) {
    provide(Validator, createValidator({ definitions, level: conformance.validation }))
  },
})
