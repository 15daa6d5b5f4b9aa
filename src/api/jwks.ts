import { z } from 'zod'
import { defineRoute } from '#api/entry'

/** The public keys that tokens are verified with, below `/api/v1` and at the root. RFC 7517, contract 2, Tokens. */
export const readJwks = defineRoute('readJwks', {
  route: 'GET /.well-known/jwks.json',
  source: '§5.1.4, contract 2',
  summary: 'Read the public keys that verify tokens',
  access: 'none',
  answers: { 200: { description: 'Keys', schema: z.object({ keys: z.array(z.looseObject({ kid: z.string() })) }) } },
  example: {
    status: 200,
    answer: {
      keys: [
        {
          kid: 'x2Vb7qYx9KdT5mXwZr2NcVd9KpLhGfA1bC3dE5fG7h',
          kty: 'EC',
          crv: 'P-256',
          x: 'f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU',
          y: 'x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0',
          alg: 'ES256',
          use: 'sig',
        },
      ],
    },
  },
})
