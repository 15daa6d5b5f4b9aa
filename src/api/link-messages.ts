import type { SocketMessage } from '#api/socket-message'
import { exampleDevice, exampleService } from '#api/state-shape'
import * as model from '#model/link-message'

/** What devices and we say to each other over a link. Contract 7. */

const flakeAddress = 5
const write = 'w:yHCgQx6nQ0Gk3z5rXo1d2A'
const offer = '5f1c0e2ab7d94c33a0d1e29b44c7f610'
const sha256 = 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad'
const timestamp = 1_790_000_000_000

export const deviceMessages: readonly SocketMessage[] = [
  {
    name: 'HELLO',
    summary: 'What a device is and offers; replaces what it declared before',
    schema: model.HelloMessage,
    examples: [
      {
        type: 'HELLO',
        deviceIdentifier: exampleDevice,
        session: 'boot-1',
        project: 'climate',
        firmwares: [{ firmware: '1.4.0', hardware: 'rev-b', index: 0 }],
        services: [
          {
            serviceIdentifier: exampleService,
            properties: [
              { propId: 8192, type: 'FLOAT', value: 21.5, modifier: { isVolatile: true } },
              { propId: 8193, type: 'UINT8' },
            ],
          },
        ],
      },
    ],
  },
  {
    name: 'UPDATE',
    summary: 'Values of one service, or errors in their place, in the order in which they arose',
    schema: model.UpdateMessage,
    examples: [
      {
        type: 'UPDATE',
        flakeAddress,
        seq: 1,
        serviceIdentifier: exampleService,
        updates: [
          { propId: 8192, value: 21.6 },
          { propId: 8193, error: 'no reading' },
        ],
        timestamp,
      },
    ],
  },
  {
    name: 'U',
    summary:
      'UPDATE in short: flakeAddress, seq, place of the service in HELLO, pairs of propId and value (an error is `{"e":"…"}`), and when',
    schema: model.ShortUpdateMessage,
    examples: [
      ['U', flakeAddress, 2, 0, [8192, 21.6, 8193, { e: 'no reading' }], timestamp],
      ['U', flakeAddress, 3, 0, [8192, 21.7]],
    ],
  },
  {
    name: 'RESULT',
    summary: 'What became of a WRITE, property by property',
    schema: model.ResultMessage,
    examples: [
      {
        type: 'RESULT',
        flakeAddress,
        id: write,
        results: [
          { propId: 8192, status: 'OK' },
          { propId: 8193, status: 'REJECTED', message: 'window open' },
        ],
      },
    ],
  },
  {
    name: 'FIRMWARE_STATUS',
    summary: 'Where a device is with a firmware that it was offered',
    schema: model.FirmwareStatusMessage,
    examples: [{ type: 'FIRMWARE_STATUS', flakeAddress, id: offer, status: 'DOWNLOADING', progress: 40 }],
  },
  {
    name: 'BYE',
    summary: 'The device leaves; others on the same link stay',
    schema: model.ByeMessage,
    examples: [{ type: 'BYE', flakeAddress }],
  },
]

export const serverMessages: readonly SocketMessage[] = [
  {
    name: 'WELCOME',
    summary: 'The device may speak; `seq` is the last that is stored of its session, `secret` comes once',
    schema: model.WelcomeMessage,
    examples: [
      {
        type: 'WELCOME',
        flakeAddress,
        deviceIdentifier: exampleDevice,
        seq: 0,
        window: model.linkWindowMessages,
        timestamp,
      },
    ],
  },
  {
    name: 'ACK',
    summary: 'Everything up to `seq` is stored, or was refused for its content',
    schema: model.AckMessage,
    examples: [{ type: 'ACK', flakeAddress, seq: 1 }],
  },
  {
    name: 'A',
    summary: 'ACK in short, to who sends short: flakeAddress, seq',
    schema: model.ShortAckMessage,
    examples: [['A', flakeAddress, 2]],
  },
  {
    name: 'WRITE',
    summary: 'Properties are asked to take values; at least once with the same `id`, to be done once',
    schema: model.WriteMessage,
    examples: [
      {
        type: 'WRITE',
        flakeAddress,
        id: write,
        serviceIdentifier: exampleService,
        updates: [
          { propId: 8192, value: 22.5 },
          { propId: 8193, value: 3 },
        ],
      },
    ],
  },
  {
    name: 'FIRMWARE',
    summary: 'A firmware is offered; its image is read at `url`, without credentials',
    schema: model.FirmwareMessage,
    examples: [
      {
        type: 'FIRMWARE',
        flakeAddress,
        id: offer,
        firmware: '2.1.0',
        hardware: 'rev-b',
        index: 0,
        url: `https://devices.example/api/v1/updates/images/${sha256}?device=${exampleDevice}&exp=1790086400000&sig=Zm9v`,
        sha256,
        size: 262_144,
      },
    ],
  },
  {
    name: 'ERROR',
    summary: 'Something was refused: of the message `seq`, of the device, or, with neither, of the link',
    schema: model.ErrorMessage,
    examples: [
      {
        type: 'ERROR',
        code: 'BAD_VALUE',
        message: 'property 8192 must be a finite single-precision number',
        flakeAddress,
        seq: 3,
      },
    ],
  },
]
