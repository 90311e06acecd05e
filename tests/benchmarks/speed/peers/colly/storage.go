package main

import (
	"context"
	"net/url"
	"strconv"

	"github.com/redis/go-redis/v9"
)

// storage keeps what colly has visited and what it will visit in Redis.
//
// colly's own module for that is not to be had from every registry, so this is written for the two
// interfaces that colly documents, storage.Storage and queue.Storage. Layout:
//
//	visited       set of request IDs
//	queue         list of serialized requests, oldest first
//	cookies:HOST  a host's cookies
//
// A popped request is in no list until it is visited: a kill loses those in flight.
type storage struct {
	client *redis.Client
}

var background = context.Background()

func newStorage(address string) *storage {
	options, err := redis.ParseURL(address)
	check(err)
	return &storage{redis.NewClient(options)}
}

func (s *storage) Init() error {
	return s.client.Ping(background).Err()
}

func (s *storage) Visited(request uint64) error {
	return s.client.SAdd(background, "visited", strconv.FormatUint(request, 10)).Err()
}

func (s *storage) IsVisited(request uint64) (bool, error) {
	return s.client.SIsMember(background, "visited", strconv.FormatUint(request, 10)).Result()
}

func (s *storage) Cookies(site *url.URL) string {
	// A host without cookies has no such key.
	return s.client.Get(background, "cookies:"+site.Host).Val()
}

func (s *storage) SetCookies(site *url.URL, cookies string) {
	check(s.client.Set(background, "cookies:"+site.Host, cookies, 0).Err())
}

func (s *storage) AddRequest(request []byte) error {
	return s.client.RPush(background, "queue", request).Err()
}

func (s *storage) GetRequest() ([]byte, error) {
	return s.client.LPop(background, "queue").Bytes()
}

func (s *storage) QueueSize() (int, error) {
	size, err := s.client.LLen(background, "queue").Result()
	return int(size), err
}
