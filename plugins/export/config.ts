/** [export]. Spec: Configuration settings. */
import { Type } from '../../kernel/index.ts'

export const exportSection = Type.Object({
  dir: Type.Optional(
    Type.String({
      minLength: 1,
      sample: '/var/lib/server/exports',
      env: 'SERVER_EXPORT_DIR',
      flag: 'export-dir',
      description:
        'Folder for the files of $export, which nobody else may write to; servers that work on the same jobs share it. Unset, $export is refused.',
    }),
  ),
})
