import { z } from 'zod'
import { defineRoute } from '#api/entry'
import { errorAnswers } from '#api/error-answers'
import { pageFields } from '#api/query-field'
import { exampleDevice, exampleService } from '#api/state-shape'
import { ActionBody, ActionEntry, noCounts } from '#model/action'
import { ServerMadeId } from '#model/identifier'

/** Actions: one write to many devices. Contract 3.6. */

export const exampleAction = '6Hn3wRt5Mz'
const body = { devices: [exampleDevice], serviceIdentifier: exampleService, updates: { '0x2000': 22.5 } }

export const createAction = defineRoute('createAction', {
  route: 'POST /devices/actions',
  source: 'contract 3.6',
  summary: 'Write properties of one service of many devices',
  access: { resource: 'service', action: 'update', within: 'tenant' },
  body: { schema: ActionBody, acceptsNames: true },
  answers: {
    202: { description: 'The action is stored and will run', schema: z.object({ id: ServerMadeId }) },
    ...errorAnswers(400, 401, 403, 404, 409, 503),
  },
  example: { body, status: 202, answer: { id: exampleAction } },
})

export const readAction = defineRoute('readAction', {
  route: 'GET /devices/actions/:actionId',
  source: 'contract 3.6',
  summary: 'Read an action and its outcome for each device',
  access: { resource: 'service', action: 'read', within: 'tenant' },
  parameters: z.object({ actionId: ServerMadeId }),
  query: z.object(pageFields),
  answers: { 200: { description: 'The action', schema: ActionEntry }, ...errorAnswers(400, 401, 403, 404, 503) },
  example: {
    parameters: { actionId: exampleAction },
    status: 200,
    answer: {
      id: exampleAction,
      state: 'done',
      createdAt: 1_790_000_000_000,
      createdBy: 'crn#user:2Vb7qYx9Kd',
      serviceIdentifier: exampleService,
      updates: { '0x2000': 22.5 },
      counts: { ...noCounts(), total: 1, OK: 1 },
      devices: [{ deviceIdentifier: exampleDevice, status: 'OK' }],
    },
  },
})
