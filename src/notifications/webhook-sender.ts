import type { WebhookAnswer } from '#model/webhook'

/** One attempt. */
export interface WebhookPost {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  /** JSON. */
  readonly body: string
}

/** Sends webhooks to their receivers. */
export interface WebhookSender {
  /** Why a function must not name this URL: a text that begins with "must". Undefined if the URL is allowed. */
  faultOf(url: string): string | undefined
  /** Resolves within 15 s, and never rejects. */
  post(post: WebhookPost): Promise<WebhookAnswer>
  /** Ends attempts in progress. */
  close(): void
}
