import { z } from 'zod'
import { defineRoute } from '#api/entry'
import { refused } from '#api/refusals'
import { exampleDevice } from '#api/state-shape'

/** The update server says that there is something new, so that nobody has to ask all the time. §4.5, contract 6. */

/** By its lower-case name: `t=<Unix seconds>,sha256=<hex>`. */
export const hookSignatureHeader = 'x-hook-signature'

export const callUpdateHook = defineRoute({
  name: 'callUpdateHook',
  method: 'POST',
  path: '/updates/hook/:projectIdentifier',
  source: '§4.5, contract 6',
  summary: 'See which devices of a project need an update now; all of them, or those that the body names',
  access: 'hook',
  // Whatever names no project is one that nobody has.
  parameters: z.object({ projectIdentifier: z.string() }),
  // Taken as it comes, for the signature is of its bytes; what it does not say means the whole project.
  body: { schema: z.unknown(), contentTypes: 'any' },
  answers: { 204: { description: 'It is stored, and will be done' }, ...refused(400, 401, 403, 503) },
  example: {
    parameters: { projectIdentifier: 'boiler' },
    body: { event: 'release', devices: [exampleDevice] },
    status: 204,
  },
})
