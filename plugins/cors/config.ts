/** Settings of [cors]. By default no page of another origin may read the server's answers. */
import { Type } from '../../kernel/index.ts'

export const corsSection = Type.Object({
  origins: Type.Array(Type.String({ minLength: 1 }), {
    default: [],
    sample: ['https://app.example.org'],
    env: 'SERVER_CORS_ORIGINS',
    description:
      'Origins whose pages may call this server from a browser, such as https://app.example.org. With SMART those of the redirect URIs of registered clients may as well.',
  }),
})
