import { type HttpAnswer, request } from '#bench/http'

export interface RequestOptions {
  readonly body?: object | Uint8Array
  readonly headers?: Readonly<Record<string, string>>
}

interface DeviceRow {
  readonly deviceIdentifier: string
  readonly services: readonly {
    readonly serviceIdentifier: string
    readonly properties: Readonly<Record<string, { readonly value?: number }>>
  }[]
}

/** The API with the administrator's authorization, unless the headers contain another one. */
export class ProofApi {
  readonly url: string
  readonly authorization: string
  readonly dataFolder: string
  /** The server is another one on a copy of the folder: no device is connected, and the state is not used later. */
  readonly isCopy: boolean

  constructor(url: string, authorization: string, dataFolder: string, { isCopy = false } = {}) {
    this.url = url
    this.isCopy = isCopy
    this.authorization = authorization
    this.dataFolder = dataFolder
  }

  ask(method: string, path: string, { body, headers }: RequestOptions = {}): Promise<HttpAnswer> {
    const isBytes = body instanceof Uint8Array
    return request(`${this.url}/api/v1${path}`, {
      method,
      headers: {
        authorization: this.authorization,
        ...(isBytes && { 'content-type': 'application/octet-stream' }),
        ...headers,
      },
      ...(body && { body: isBytes ? body : JSON.stringify(body) }),
    })
  }

  /** Resolves with the JSON body of the answer. @throws when the request is refused */
  async must<Value>(method: string, path: string, asking: RequestOptions = {}): Promise<Value> {
    const { status, text } = await this.ask(method, path, asking)
    if (status >= 300) throw new Error(`${method} ${path} was answered ${status} ${text.slice(0, 200)}`)
    return (text === '' ? undefined : JSON.parse(text)) as Value
  }

  /** By device, the value of a property; 0 where the device does not have a value. */
  async values(
    devices: readonly string[],
    serviceIdentifier: string,
    propId: number,
  ): Promise<ReadonlyMap<string, number>> {
    const query = devices.map((device) => `&deviceIdentifier=${device}`).join('')
    const rows = await this.must<readonly DeviceRow[]>('GET', `/devices?depth=2${query}`)
    return new Map(
      rows.map(({ deviceIdentifier, services }) => {
        const service = services.find((each) => each.serviceIdentifier === serviceIdentifier)
        return [deviceIdentifier, service?.properties[propId]?.value ?? 0]
      }),
    )
  }
}
