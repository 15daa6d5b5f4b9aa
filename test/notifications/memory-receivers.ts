import type { WebhookAnswer } from '#model/webhook'
import type { WebhookPost, WebhookSender } from '#notifications/webhook-sender'

/** Receivers that accept everything, unless `onPost` decides otherwise. */
export class MemoryReceivers implements WebhookSender {
  readonly posts: WebhookPost[] = []
  onPost: (post: WebhookPost) => WebhookAnswer | Promise<WebhookAnswer> = () => 204

  faultOf(): undefined {
    return undefined
  }

  async post(post: WebhookPost): Promise<WebhookAnswer> {
    this.posts.push(post)
    return this.onPost(post)
  }

  close(): void {}
}
