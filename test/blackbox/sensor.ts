import type { Declaration, Fields } from '#test/blackbox/link-client'

/** The service of most devices in these tests. */
export const climate = 'climate'
export const temperature = 0x2000
export const label = 0x2001
export const mode = 0x2002

export const sensor: readonly Declaration[] = [
  {
    serviceIdentifier: climate,
    properties: [
      { propId: temperature, type: 'FLOAT' },
      { propId: label, type: 'STRING' },
      { propId: mode, type: 'UINT8', modifier: { isReadOnly: true } },
    ],
  },
]

export const noModifier = {
  isReadOnly: false,
  isActionable: false,
  isVolatile: false,
  isError: false,
  isArray: false,
}

export function degrees(value: number): Fields {
  return { propId: temperature, value }
}

/** The temperature in the form in which events and reads show it. */
export function shownDegrees(value: number): Fields {
  return { tag: 'value', modifier: noModifier, propId: temperature, type: 'FLOAT', value }
}
