import { z } from 'zod'
import { defineRoute } from '#api/entry'
import { errorAnswers } from '#api/error-answers'
import { exampleDevice } from '#api/state-shape'

/** The update server calls this when it has a new release, so that devices need no polling. §4.5, contract 6. */

/** By its lower-case name: `t=<Unix seconds>,sha256=<hex>`. */
export const hookSignatureHeader = 'x-hook-signature'

export const callUpdateHook = defineRoute('callUpdateHook', {
  route: 'POST /updates/hook/:projectIdentifier',
  source: '§4.5, contract 6',
  summary: 'Check which devices of a project need an update: all, or those in the body',
  access: 'hook',
  // An invalid name is a project without devices.
  parameters: z.object({ projectIdentifier: z.string() }),
  // As raw bytes, because the signature covers them; missing fields mean the whole project.
  body: { schema: z.unknown(), contentTypes: 'any' },
  answers: { 204: { description: 'The check is stored and will run' }, ...errorAnswers(400, 401, 403, 503) },
  example: {
    parameters: { projectIdentifier: 'boiler' },
    body: { event: 'release', devices: [exampleDevice] },
    status: 204,
  },
})
