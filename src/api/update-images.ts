import { z } from 'zod'
import { defineRoute } from '#api/entry'
import { errorAnswers } from '#api/error-answers'
import { exampleDevice } from '#api/state-shape'
import { Sha256 } from '#model/identifier'

/** Firmware images for the devices to which they were offered. Contract 6. */

/** An invalid field counts as empty: then the signature does not match. */
const signed = z.string().catch('').default('')

export const readImage = defineRoute('readImage', {
  route: 'GET /updates/images/:sha256',
  source: 'contract 6, RFC 9110 §14',
  summary: 'Read an image, whole or one range of it; the URL itself is the credential, and expires',
  access: 'none',
  parameters: z.object({ sha256: Sha256 }),
  query: z.object({ device: signed, exp: signed, sig: signed }),
  answers: {
    200: { description: 'The image', contentType: 'application/octet-stream' },
    206: { description: 'The requested range', contentType: 'application/octet-stream' },
    304: { description: 'Not changed' },
    403: { description: 'The signature of the URL is not valid, or it has expired' },
    416: { description: 'The image has no such bytes; `Content-Range` contains its size' },
    ...errorAnswers(400, 404, 503),
  },
  example: {
    parameters: { sha256: 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad' },
    query: { device: exampleDevice, exp: '1790086400', sig: 'Zm9vYmFyYmF6Zm9vYmFyYmF6Zm9vYmFyYmF6MDEyMzQ' },
    status: 200,
  },
})
