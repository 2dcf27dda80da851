/** Settings of the section [import]. */
import { Type } from '../../kernel/index.ts'

/** A name or an address: `files.example.org`, `10.0.0.1`, `[fd00::1]`. */
const HOST = '^(?:[A-Za-z0-9_.-]+|\\[[0-9A-Fa-f:.]+\\])$'

export const importSection = Type.Object({
  sources: Type.Array(Type.String({ minLength: 1 }), {
    default: [],
    sample: ['https://files.example.org', '/var/lib/server/imports'],
    description:
      'Where $import may read files: https URLs, of which a file has the host and begins with the path, and absolute paths of directories. Empty, $import is refused.',
  }),
  inside_hosts: Type.Array(
    Type.String({ pattern: HOST, allowed: 'a host without a port, of all of whose ports files may be read' }),
    {
      default: [],
      sample: ['files.hospital.internal'],
      description:
        'Hosts of sources that lie at addresses that are not public. All others are read from public addresses only.',
    },
  ),
  max_file_bytes: Type.Integer({
    default: 20_000_000_000,
    minimum: 1,
    description: 'Most bytes of a file that $import reads, unpacked.',
  }),
})
