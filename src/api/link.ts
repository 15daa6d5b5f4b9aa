import { defineRoute, ErrorBody, errorAnswers } from '#api/route-entry'
import { exampleDevice, exampleService } from '#api/state-shape'
import { LinkBody } from '#model/link-message'

/** The device link without a websocket. Contract 7. */
export const postLink = defineRoute('postLink', {
  route: 'POST /link',
  summary: 'Report properties of a device; the answer comes when they are stored',
  access: 'link',
  body: { schema: LinkBody },
  answers: {
    204: { description: 'Stored' },
    ...errorAnswers(403, 429),
    409: { description: 'The device or tenant would exceed its memory limit', schema: ErrorBody },
  },
  example: {
    body: {
      deviceIdentifier: exampleDevice,
      services: [{ serviceIdentifier: exampleService, properties: [{ propId: 8192, type: 'FLOAT' }] }],
      updates: [{ serviceIdentifier: exampleService, propId: 8192, value: 21.5 }],
    },
  },
})
